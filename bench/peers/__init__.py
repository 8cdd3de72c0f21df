"""What tidemark is measured against: jobs of Spark, and other engines in processes of their own."""
