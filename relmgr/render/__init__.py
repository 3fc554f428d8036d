"""View models to text: Markdown, HTML, plain text, JSON."""
