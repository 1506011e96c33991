"""What a model's description says (protocol, 8): other names of fields, and what their values mean."""
from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional

from . import names, values

TYPES = ("boolean", "integer", "number", "string", "array", "object", "any")


class Form(NamedTuple):
    """What the values of a field mean: their type and unit."""

    type: str = "any"
    unit: Optional[str] = None

    @classmethod
    def read(cls, json: Any) -> Optional["Form"]:
        """The form that an object names; None for anything else."""
        if not isinstance(json, dict) or json.get("type", "any") not in TYPES:
            return None
        unit = json.get("unit")
        return cls(json.get("type", "any"), unit) if unit is None or isinstance(unit, str) else None

    @property
    def json(self) -> Dict[str, Any]:
        """The form as an object."""
        return {"type": self.type, **({} if self.unit is None else {"unit": self.unit})}

    @property
    def words(self) -> str:
        """For people: `number in %`."""
        return self.type if self.unit is None else f"{self.type} in {self.unit}"

    def means_same(self, other: "Form") -> bool:
        """Whether values of both mean the same. A unit that only one of them names makes no difference."""
        return self.type == other.type and (None in (self.unit, other.unit) or self.unit == other.unit)


class FieldForm(NamedTuple):
    """The form of a field, and the one from which its values were mapped."""

    present: Form
    former: Optional[Form] = None

    def is_mapped_from(self, described: "FieldForm") -> bool:
        """Whether a description still has the former form of this declaration, so that its values are to be mapped."""
        if self.former is None:
            return False
        is_replaced = described.former == self.former and described.present.type == self.present.type
        return not is_replaced and described.present.means_same(self.former)

    def is_replaced_by(self, described: "FieldForm") -> bool:
        """Whether a description has values that were mapped from this form, which reads them no longer."""
        gone = described.former
        return self.former is None and gone is not None and gone.means_same(self.present) and (
            not described.present.means_same(self.present))


class Described:
    """A description, read. What is malformed in it counts as absent."""

    def __init__(self, text: Optional[bytes] = None) -> None:
        found = None if text is None else values.decoded(text)
        self.text = text
        self.json: Dict[str, Any] = found if isinstance(found, dict) else {}
        fields, aliases = self.json.get("fields", {}), self.json.get("alias", {})
        if not isinstance(fields, dict):
            self.json, fields = {}, {}
        self.fields: Dict[str, Dict[str, Any]] = {
            name: each for name, each in fields.items() if isinstance(each, dict)}
        self.aliases: Dict[str, str] = {
            name: stored for name, stored in (aliases.items() if isinstance(aliases, dict) else ())
            if isinstance(stored, str) and name not in self.fields and names.is_field(name) and names.is_field(stored)}
        self.forms = {name: _form(each) for name, each in self.fields.items()}

    def stored_name(self, name: str) -> str:
        """The name under which a field is stored, given that name or another one."""
        return self.aliases.get(name, name)


class LastDescribed:
    """The description that was read last, so that one that has not changed is not read again."""

    def __init__(self) -> None:
        self._last = Described()

    def read(self, text: Optional[bytes]) -> Described:
        """The description that a text is."""
        if text != self._last.text:
            self._last = Described(text)
        return self._last


def _form(field: Dict[str, Any]) -> FieldForm:
    unit = field.get("unit")
    present = Form(field["type"] if field.get("type") in TYPES else "any", unit if isinstance(unit, str) else None)
    return FieldForm(present, Form.read(field.get("formerly")))
