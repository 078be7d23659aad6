"""`graphsvc import`: files of edges into the service, resumably; and the difference between the two."""
