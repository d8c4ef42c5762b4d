"""The family of contacts: one file each, which states all facts of its contact.

A new contact is a file here, a line in `CONTACTS`, and its maker among the bases of `ContactMakers`.
"""

from dalembert.model.contacts.base import Contact
from dalembert.model.contacts.knife_edge import KnifeEdge, KnifeEdgeMaker
from dalembert.model.contacts.rolling_disk import RollingDisk, RollingDiskMaker

# in the order in which a file is read
CONTACTS: tuple[type[Contact], ...] = (KnifeEdge, RollingDisk)


class ContactMakers(KnifeEdgeMaker, RollingDiskMaker):
    """What ties bodies to the ground without a joint."""
