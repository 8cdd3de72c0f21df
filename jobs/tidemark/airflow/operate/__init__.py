"""The verbs of an operator as DAGs, each with a form."""
