"""What the process needs that is no part of a race: workers, token buckets, settings of the garbage collector."""
