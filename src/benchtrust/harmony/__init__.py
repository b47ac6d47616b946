"""Does the average stand for its parts? HARMONY (arXiv 2509.25671). In preparation."""
