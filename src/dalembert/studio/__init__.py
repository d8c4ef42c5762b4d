"""The studio: a web page on this machine in which a mechanism is described, derived, proved and moved.

A request passes `guard` (token and origin) and reaches `app`; `protocol` reads its messages, `scheduler` and `process_pool` give
each task its turn in its own process (`task_process`), where a function of `tasks` calls the public API. `start_model` is
what a new tab shows. Only `folder` writes files. No module here contains mechanics.
"""
