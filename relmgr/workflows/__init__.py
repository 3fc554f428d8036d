"""Each workflow reads as a sentence: read, judge, render, write."""
