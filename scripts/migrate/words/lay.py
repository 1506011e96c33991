"""lay and laid over become overlay: pending writes show over the committed values."""

from .rewriting import code, names

PLANTS = ("*.swift", "Tests/Mutants/*.py")
OUTBOX = ("Sources/BindingPeer/Core/Writes/Outbox.swift",)
MERGE = ("Sources/BindingPeer/Core/Writes/TextMerge.swift", "Tests/Mutants/peer_*.py")
RULES = [
    # What shows of fields once a proposal lies over them, and the writes that show.
    *names({"LaidOver": "OverlaidFields", "whenLaidOver": "whenOverlaid", "laidOver": "overlaid"}),
    *code({r"\blayCarried\(over\b": "addCarriedToOverlay(of"}, PLANTS),
    *code({r"\blay\(": "addToOverlay("}, ("Sources/BindingPeer/Core/*.swift",)),
    *code({r"\blaid\b": "overlaidByNumber", r"\bLaid\b": "OverlaidWrite", r"\bwasLaid\b": "wasOverlaid"}, OUTBOX),
    # A piece of an edit, and who made it.
    *code(
        {
            r"\blet laid = (?=areLetters\b)": "let parts = ", r"\blaid \?\? edit\.": "parts ?? edit.",
            r"\bLaid\b": "WriterPiece", r"\blaid(?=\.(?:piece|words|isBeside)\b|[:,)])": "current",
        }, MERGE),
]
