"""What is measured: a module for each row of the bench, or for some that are alike."""
