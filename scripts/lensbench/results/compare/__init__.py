"""Finished runs beside each other."""
