"""Two-way data binding that spans processes."""
