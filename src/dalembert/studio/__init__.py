"""The studio: a web page on this machine in which a mechanism is described, derived, proved and moved.

A request passes `guard` (token and origin) and reaches `app`; `protocol` reads its messages, and `process_pool` gives each
task its turn in a worker process, where a function of `tasks` calls the public API. `server` starts it all. Only `folder`
writes files. No module here contains mechanics.
"""
