"""What the server process needs beside the races: workers, tasks, token buckets, logging, metrics, settings of the garbage collector."""
