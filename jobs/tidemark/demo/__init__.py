"""The demonstration: a year of real flights that land out of order, and the pipeline that judges them."""
