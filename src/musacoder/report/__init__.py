"""`musacoder report`: what runs say, as one HTML file that needs nothing else, as Markdown and as JSON.

run folders ─> findings (gather) ─> tables and charts ─> page, markdown, document
                                └─> what tasks open to (contents)
"""
