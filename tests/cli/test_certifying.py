"""A promise at the shell: certified, refused, the safest rule; files, options, exit codes."""

import html
import json
import os
import signal
import subprocess
import sys

import pytest

from conftest_lines import lines_of, write
