"""`dl.animate`: a model to be moved by hand."""

from dalembert.api.load import accepts_source
from dalembert.display import video

animate = accepts_source(video.animate)
