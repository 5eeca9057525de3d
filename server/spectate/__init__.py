"""Who watches races without a seat in them: what they may see, when, and how it gets to a thousand of them."""
