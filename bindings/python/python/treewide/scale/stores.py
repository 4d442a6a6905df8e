"""Objects, and the stores that they are in."""

from treewide._scale.objects import Object
from treewide._scale.reading import Changed, Refused, Reply, Source
from treewide._scale.sources import Files, Fsspec, Obstore
from treewide._scale.sources.web import Web
from treewide._scale.writing import Sink

__all__ = ["Changed", "Files", "Fsspec", "Object", "Obstore", "Refused", "Reply", "Sink", "Source", "Web"]
