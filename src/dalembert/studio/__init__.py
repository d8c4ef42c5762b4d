"""The studio: a web page on this machine in which a mechanism is described, derived, proved and moved.

The way of a request: `guard` lets it in, `app` takes it, `talk` hears what a tab asks, `workers` hand it, when it is its
turn (`turns`), to a process (`worker`), where a function of `tasks` calls the pipeline; what it answers goes back to the tab.
`opening` is what a new tab begins with, `upload` takes a file that is dropped on the page. `folder` is the only place where
files are written. Nothing here knows mechanics.
"""
