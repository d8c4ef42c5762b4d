"""`dl.animate`: an interactive view of a model with sliders for its coordinates."""

from dalembert.api.load import accepts_source
from dalembert.display import video

animate = accepts_source(video.animate)
