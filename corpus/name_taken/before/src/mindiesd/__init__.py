"""Something else under the runtime's name."""
