"""Measures what tidemark costs, side by side with what people would use instead. Ratios, never bare seconds."""
