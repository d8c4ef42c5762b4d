"""A run and all that is known of its model, as one page that needs nothing else."""

from dalembert.reports.contents import Contents as Contents
from dalembert.reports.contents import contents_of as contents_of
from dalembert.reports.making import Report as Report
from dalembert.reports.making import report_of as report_of
