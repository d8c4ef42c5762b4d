"""The studio: a local web app to define a mechanism, derive and prove its equations, and simulate it.

A request passes the access control of `app` (token and origin); `protocol` reads its messages, and `process_pool` schedules each
task in a worker process, where a function of `tasks` calls the public API. `server` starts the server. Only `folder` writes
files. No module here contains mechanics.
"""
