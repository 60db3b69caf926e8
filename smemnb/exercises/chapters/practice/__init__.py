"""Exercises of the chapters on work with tools."""
