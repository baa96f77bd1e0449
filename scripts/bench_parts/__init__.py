# SPDX-License-Identifier: Apache-2.0
"""The groups of figures of scripts/bench, a module each, and what they share: figures.py, programs.py, stamped_job.py."""
