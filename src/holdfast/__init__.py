"""Holdfast finds the rules your data holds, and holds your data to them."""
