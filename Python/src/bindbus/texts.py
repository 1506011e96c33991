"""Three-way merge of two edits of one text, as all peers do it (policy `text`; vectors/text).

Words that either inserted are in the result, words that either deleted are not; where both replaced the same words,
both replacements stay, the first before the second. Words are runs of letters and digits; any other character, as a
person perceives it, is a word of its own. Blanks belong to the word after them.
"""
from __future__ import annotations

import unicodedata
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

from .characters import characters, in_word

_AFTER_WORD, _WORDS, _BLANKS, _BEFORE_WORD = range(4)  # the order of insertions at one place
_MOST = 1_000  # beyond so many single changes everything between the first and the last counts as replaced


class _Word(NamedTuple):
    blank: str
    text: str
    key: str  # equal for words that look the same to a person


class _Piece(NamedTuple):
    start: int
    end: int
    text: str
    rank: int
    words: Optional[List[str]]  # the keys of words; None for letters


class _Edit(NamedTuple):
    start: int
    end: int
    whole: Optional[_Piece]
    parts: Optional[List[_Piece]]


class _Change(NamedTuple):
    old: Tuple[int, int]
    new: Tuple[int, int]


def merge_texts(base: str, first: str, second: str) -> str:
    """The merge of two edits of `base`; `first` is the one that is first in the agreed order."""
    if first in (base, second):
        return second
    if second == base:
        return first
    edits = [(writer, edit) for writer, text in enumerate((first, second)) for edit in _edits(base, text)]
    pieces = _pieces(edits)
    result, position, was_word = "", 0, False

    def put(text: str, is_word: bool) -> None:
        nonlocal result, was_word
        if text:  # words that two writers put side by side do not mean one long word
            if (is_word or was_word) and in_word(text) and result and in_word(characters(result[-20:])[-1]):
                result += " "
            result, was_word = result + text, is_word

    for at, (writer, piece) in enumerate(pieces):
        put(base[position:piece.start], False)
        position = max(position, piece.end)
        former = pieces[at - 1][1] if at and _beside(pieces[at - 1], pieces[at]) else None
        later = pieces[at + 1][1] if at + 1 < len(pieces) and _beside(pieces[at], pieces[at + 1]) else None
        if not _is_twice(piece, former, later):
            put(piece.text, piece.words is not None)
    put(base[position:], False)
    return result


def _beside(one: Tuple[int, _Piece], other: Tuple[int, _Piece]) -> bool:
    return one[0] != other[0] and (one[1].rank, one[1].start) == (other[1].rank, other[1].start)


def _is_twice(piece: _Piece, former: Optional[_Piece], later: Optional[_Piece]) -> bool:
    """Whether both inserted the same at one place: it counts once, and of words in more words the longer stays."""
    if piece.words is None:
        return former is not None and former.text == piece.text
    if former is not None:
        return _is_part(piece.words, former.words or [])
    return later is not None and _is_part(piece.words, later.words or []) and not _is_part(
        later.words or [], piece.words)


def _pieces(edits: List[Tuple[int, _Edit]]) -> List[Tuple[int, _Piece]]:
    """The pieces in order. Overlapping edits are merged by letters where all of them allow it."""
    pieces: List[Tuple[int, _Piece]] = []
    rest = sorted(edits, key=lambda edit: edit[1].start)
    while rest:
        (start, end), count = rest[0][1][:2], 1
        while count < len(rest) and rest[count][1].start < end:
            end, count = max(end, rest[count][1].end), count + 1
        some, rest = rest[:count], rest[count:]
        letters = all(edit.parts is not None or edit.start == edit.end == start for _, edit in some)
        for writer, edit in some:
            parts = edit.parts if letters and edit.parts is not None else [edit.whole] if edit.whole else []
            pieces += [(writer, part) for part in parts]
    return sorted(pieces, key=lambda piece: (piece[1].start, piece[1].rank, piece[0]))


def _edits(base: str, text: str) -> List[_Edit]:
    """The edits that turn one text into the other, in order."""
    start, end, stop = _differing(base, text)
    old, new = _words(base[start:end]), _words(text[start:stop])
    starts = _starts([word.blank + word.text for word in old], start)
    edits: List[_Edit] = []
    done = by = 0

    def keep(upto: int) -> None:
        for at in range(done, upto):
            more = len(new[at + by].blank) - len(old[at].blank)
            if more:
                blanks = _Piece(starts[at], starts[at] + max(0, -more), " " * max(0, more), _BLANKS, None)
                edits.append(_Edit(starts[at], starts[at + 1], None, [blanks]))

    for change in _changes([word.key for word in old], [word.key for word in new]):
        keep(change.old[0])
        (first, last), words = (starts[change.old[0]], starts[change.old[1]]), new[slice(*change.new)]
        some = None
        if change.old[0] < change.old[1] and words:
            some = _letter_edits(old[slice(*change.old)], _written(words), first)
        if some is None:
            some = [_Edit(first, last, _Piece(first, last, _written(words), _WORDS, [w.key for w in words]), None)]
        edits += some
        done, by = change.old[1], change.new[1] - change.old[1]
    keep(len(old))
    # Nothing was removed overall: the comparison has matched the wrong one of several equal words.
    if any(edit.start < edit.end and edit.parts is None for edit in edits):
        if _is_part(_keys(characters(_written(old))), _keys(characters(_written(new)))):
            return _letter_edits(old, _written(new), start) or edits
    return edits


def _differing(old: str, new: str) -> Tuple[int, int, int]:
    """The range in which two texts differ, extended to the blanks before words, and its end in the second."""
    start, end, stop = 0, len(old), len(new)
    while start < end and start < stop and old[start] == new[start]:
        start += 1
    while end > start and stop > start and old[end - 1] == new[stop - 1]:
        end, stop = end - 1, stop - 1

    def is_gap(at: int) -> bool:
        return old[at] == " " and (at == 0 or old[at - 1] != " ")

    first, last = max(start - 1, 0), end
    while first > 0 and not is_gap(first):
        first -= 1
    while last < len(old) and (last == end or not is_gap(last)):
        last += 1
    return first, last, stop + last - end


def _letter_edits(old: List[_Word], text: str, start: int) -> Optional[List[_Edit]]:
    """The edits by letters, grouped by the words that they change; None if letters were both put in and removed."""
    before, after = characters(_written(old)), characters(text)
    words = _starts([word.blank + word.text for word in old], start)
    changes = _changes(_keys(before), _keys(after))
    if any(c.old[0] < c.old[1] for c in changes) and any(c.new[0] < c.new[1] for c in changes):
        return None
    starts = _starts(before, start)
    groups: List[Tuple[int, int, List[_Piece]]] = []
    for change in changes:
        new, (first, last) = after[slice(*change.new)], (starts[change.old[0]], starts[change.old[1]])
        is_after = 0 < change.old[0] and in_word(before[change.old[0] - 1])
        is_before = change.old[1] < len(before) and in_word(before[change.old[1]])
        part = _Piece(first, last, "".join(new), _AFTER_WORD if is_after else _BEFORE_WORD, None)
        word = max((at for at, begin in enumerate(words) if begin <= first), default=0)
        is_first = words[word] == first
        if first < last:  # without their separator two words become one
            upto = next((at for at, begin in enumerate(words) if begin >= last), word + 1)
            touched = (word - 1 if is_first and is_after and is_before else word, upto)
        elif not is_first or is_before and new and in_word(new[-1]):
            touched = (word, word + 1)
        else:
            touched = (word - 1, word) if is_after and new and in_word(new[0]) else (word, word)
        if groups and touched[0] < groups[-1][1]:
            groups[-1] = (groups[-1][0], max(groups[-1][1], touched[1]), groups[-1][2] + [part])
        else:
            groups.append((*touched, [part]))
    whole, edits = "".join(before), []
    for low, high, parts in groups:
        result, done = "", words[low]
        for part in parts:
            result, done = result + whole[done - words[0]:part.start - words[0]] + part.text, part.end
        result += whole[done - words[0]:words[high] - words[0]]
        piece = _Piece(words[low], words[high], result, _WORDS, [word.key for word in _words(result)])
        edits.append(_Edit(words[low], words[high], piece, parts if words[low] < words[high] and result else None))
    return edits


def _changes(old: Sequence[str], new: Sequence[str]) -> List[_Change]:
    """The fewest changes that turn one sequence into the other (Myers, 1986), in order."""
    head, rows, columns = 0, len(old), len(new)
    while head < rows and head < columns and old[head] == new[head]:
        head += 1
    while rows > head and columns > head and old[rows - 1] == new[columns - 1]:
        rows, columns = rows - 1, columns - 1
    if rows == head or columns == head:
        return [_Change((head, rows), (head, columns))] if (rows, columns) != (head, head) else []
    most = min(_MOST, rows + columns - 2 * head)
    farthest: List[Tuple[int, Optional[Any]]] = [(head, None)] * (2 * most + 3)
    for count in range(most + 1):
        for diagonal in range(-count, count + 1, 2):
            lower, upper = farthest[most + diagonal], farthest[most + diagonal + 2]
            is_put_in = diagonal == -count or diagonal != count and lower[0] < upper[0]
            begin, last = upper if is_put_in or count == 0 else lower
            x = begin if is_put_in or count == 0 else begin + 1
            y = x - diagonal
            if count:
                origin = y - 1 if is_put_in else y
                if last and (last[0].old[1], last[0].new[1]) == (begin, origin):
                    last = (_Change((last[0].old[0], x), (last[0].new[0], y)), last[1])
                else:
                    last = (_Change((begin, x), (origin, y)), last)
            while x < rows and y < columns and old[x] == new[y]:
                x, y = x + 1, y + 1
            farthest[most + diagonal + 1] = (x, last)
            if x >= rows and y >= columns:
                found: List[_Change] = []
                while last:
                    found, last = [last[0], *found], last[1]
                return found
    return [_Change((head, rows), (head, columns))]


def _starts(lengths: Sequence[str], start: int) -> List[int]:
    starts = [start]
    for text in lengths:
        starts.append(starts[-1] + len(text))
    return starts


def _words(text: str) -> List[_Word]:
    words: List[_Word] = []
    single, at = characters(text), 0
    while at < len(single):
        begin = at
        while at < len(single) and single[at] == " ":
            at += 1
        middle = at
        while at < len(single) and in_word(single[at]):
            at += 1
        at = at if at > middle else min(at + 1, len(single))
        word = "".join(single[middle:at])
        words.append(_Word(" " * (middle - begin), word, unicodedata.normalize("NFC", word)))
    return words


def _written(words: List[_Word]) -> str:
    return "".join(word.blank + word.text for word in words)


def _keys(single: List[str]) -> List[str]:
    return [unicodedata.normalize("NFC", each) for each in single]


def _is_part(some: Sequence[str], of: Sequence[str]) -> bool:
    """Whether the other has all of these in this order, possibly with others between."""
    rest = iter(of)
    return all(any(one == other for other in rest) for one in some)
