"""Prints what feedparser reads in each file of its own corpus, as JSON: path -> [{title, link, time}]."""

import calendar
import json
import os
import sys

import feedparser

corpus = sys.argv[1]
result = {}
for folder, _, names in sorted(os.walk(corpus)):
    for name in sorted(names):
        if not name.endswith(".xml"):
            continue
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            feed = feedparser.parse(file.read())
        entries = []
        for entry in feed.entries:
            parsed = entry.get("published_parsed") or entry.get("updated_parsed")
            time = calendar.timegm(parsed) if parsed else None
            entries.append({"title": entry.get("title"), "link": entry.get("link"), "time": time})
        result[os.path.relpath(path, corpus)] = {"version": feed.version, "entries": entries}
json.dump(result, sys.stdout)
