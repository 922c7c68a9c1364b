"""The demo: a month of orders, clean and as it came in, and ten rules for it, shipped with the package; and the command
that shows them.

`clean.csv` and `orders.csv` are written by scripts/make_demo_data.py, which lists every error that was planted.
"""
