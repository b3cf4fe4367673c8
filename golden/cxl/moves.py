"""Where pages are that the switch moved, and the one that it is moving.

A page moves group by group: the lines of a group are held, copied and then *flipped*, from when on
they are where the page goes. All other lines are where they were, also when a move is given up.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from fanweave.golden.cxl.tables import PAGE_LINES, Device, Tables
from fanweave.golden.errors import FaultError

__all__ = ["MovedPage", "Moves"]


@dataclass
class MovedPage:
    """An entry of a host's table of moved pages.

    Attributes
    ----------
    number : int
        The page.
    new : Device
        Where groups are that were flipped.
    old : Device or None
        Where the others are; None for where the ranges say.
    there : set of int
        Groups that were flipped.
    """

    number: int
    new: Device
    old: Device | None = None
    there: set[int] = field(default_factory=set)


class Moves:
    """The tables of moved pages, as the switch has them.

    Parameters
    ----------
    tables : Tables
        Its other tables.

    Attributes
    ----------
    going : tuple of int or None
        Host and entry of the page that moves.
    held : int or None
        Its group that is copied.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self.lines = tables.config.move_lines
        self.groups = PAGE_LINES // self.lines
        self.pages: dict[tuple[int, int], MovedPage] = {}
        self.going: tuple[int, int] | None = None
        self.held: int | None = None

    @property
    def moving(self) -> MovedPage:
        """The page that moves.

        Raises
        ------
        FaultError
            If none does.
        """
        if self.going is None:
            raise FaultError("no page moves")
        return self.pages[self.going]

    def begin(self, host: int, number: int, target: Device, entry: int) -> None:
        """A page begins to move, or goes on to where a part of it is already, or back from there.

        Raises
        ------
        FaultError
            If another one moves, it is not a page that can go there, or not its entry.
        """
        if self.going is not None:
            raise FaultError(f"page {number:#x} moves before page {self.moving.number:#x} is there")
        if self._tables.own_device(host, target.port) != target:
            raise FaultError(f"host {host} does not have {target}, where page {number:#x} goes")
        places = [place for place, page in self.pages.items() if page.number == number]
        place = next((place for place in places if place[0] == host), (host, entry))
        page = self.pages.get(place)
        if place != (host, entry):
            raise FaultError(f"page {number:#x} is in entry {place[1]}, not {entry}, of its host")
        if page is None:
            self.pages[place] = MovedPage(number, target)
        elif page.number != number:
            raise FaultError(f"entry {entry} of host {host} has page {page.number:#x}")
        else:
            self._turn(page, target)
        self.going = place

    def _turn(self, page: MovedPage, target: Device) -> None:
        """A page that is in the table gets another target."""
        whole = len(page.there) == self.groups
        if whole and page.new != target:
            page.old, page.new, page.there = page.new, target, set()
        elif not whole and page.old == target:
            page.old, page.new = page.new, target
            page.there = set(range(self.groups)) - page.there
        elif whole or page.new != target:
            raise FaultError(f"page {page.number:#x} cannot move to {target}")

    def hold(self, group: int) -> Iterator[int]:
        """A group is held.

        Returns
        -------
        iterator of int
            Addresses of its lines.

        Raises
        ------
        FaultError
            If another one is, or it is there already.
        """
        page = self.moving
        if self.held is not None or group in page.there:
            raise FaultError(f"group {group} of page {page.number:#x} is held out of turn")
        self.held = group
        first = page.number * PAGE_LINES + group * self.lines
        return iter(range(first, first + self.lines))

    def flip(self, group: int) -> None:
        """The group that is held is there now.

        Raises
        ------
        FaultError
            If it is not held.
        """
        if self.held != group:
            raise FaultError(f"group {group} of page {self.moving.number:#x} was not held")
        self.moving.there.add(group)
        self.held = None

    def finish(self, *, home: bool) -> None:
        """All of the page is there; ``home`` if its ranges say so too: then it needs no entry.

        Raises
        ------
        FaultError
            If some group is not there, or the ranges say something else.
        """
        page, place = self.moving, self.going
        assert place is not None
        if len(page.there) != self.groups:
            raise FaultError(f"page {page.number:#x} is there with groups {page.there} only")
        page.old = None
        lines = range(page.number * PAGE_LINES, (page.number + 1) * PAGE_LINES)
        if home:
            if any(self._tables.decode(place[0], line) != page.new for line in lines):
                raise FaultError(f"the ranges of host {place[0]} do not say that {page} is there")
            del self.pages[place]
        self.going = None

    def give_up(self) -> None:
        """What was flipped stays there, the rest stays where it was."""
        page, place = self.moving, self.going
        assert place is not None
        if not page.there and page.old is None:
            del self.pages[place]
        elif not page.there:
            assert page.old is not None
            page.new, page.old, page.there = page.old, None, set(range(self.groups))
        self.going = self.held = None

    def clear(self, host: int, entry: int) -> None:
        """The host forgets where a page went; while that page moves, it cannot."""
        if self.going != (host, entry):
            self.pages.pop((host, entry), None)

    def locate(self, host: int, line: int, decoded: Device | None) -> Device | None:
        """The logical device that has a line.

        Parameters
        ----------
        host, line : int
            Whose, and its address.
        decoded : Device or None
            What ranges and bindings say.
        """
        number, group = line // PAGE_LINES, line % PAGE_LINES // self.lines
        for (owner, _), page in self.pages.items():
            if (owner, page.number) == (host, number):
                found = page.new if group in page.there else page.old
                if found is not None:
                    return found if self._tables.owner(found) == host else None
        return decoded
