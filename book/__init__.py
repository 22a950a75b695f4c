"""The book: one static site made of the Markdown pages of the repository, its schemas, its public interface and its notebooks.

In: the repository. Out: a folder of pages with search, that needs no network. ``make book`` runs it, and CONTRIBUTING.md says what it
takes and checks. The pages stay readable where they are: what a site needs besides is added to copies of them.
"""
