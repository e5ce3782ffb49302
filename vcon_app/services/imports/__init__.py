"""Imports in three steps: the row (``import_jobs``), its document (``document_importer``), each file in it
(``file_importer``). Sub-agents with files of their own are linked to their parents afterwards.
"""
