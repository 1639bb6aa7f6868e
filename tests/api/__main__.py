"""``make coverage``, or ``python -m api`` in tests/: write the page, and the README's sentence."""

from .page import PAGE, README, page, readme, summary

PAGE.write_text(page(), "utf-8")
README.write_text(readme(), "utf-8")
print(summary())
