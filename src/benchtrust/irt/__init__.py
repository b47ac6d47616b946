"""How few items are enough? Item response theory and adaptive testing (arXiv 2606.20626). In preparation."""
