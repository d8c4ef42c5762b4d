"""The scene: what a model looks like and how it moves, as one value that pages, films and pictures are made of."""

from dalembert.show.scene.making import scene_of as scene_of
from dalembert.show.scene.values import Scene as Scene
