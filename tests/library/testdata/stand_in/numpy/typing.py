"""Annotations are not looked at."""
