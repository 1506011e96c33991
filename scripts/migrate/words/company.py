"""company becomes the features that it stood for: ephemeral models, owners and barriers; strangers become impostors.

Those who offer a forged replica were called impostors before: they give the name up to those who speak as another.
"""

from .rewriting import Rule, code, names

SIMULATION = ("Tests/Simulation/*.swift", "Tests/SimulationTests/*.swift")
WORLD = ("Tests/Simulation/World.swift",)
FILES = {
    "Tests/Simulation/FaultProfile+Company.swift": "Tests/Simulation/FaultProfile+Features.swift",
    "Tests/Simulation/World+Company.swift": "Tests/Simulation/World+Features.swift",
    "Tests/Simulation/World+Impostors.swift": "Tests/Simulation/World+Offers.swift",
    "Tests/Simulation/World+Strangers.swift": "Tests/Simulation/World+Impersonation.swift",
}
RULES = [
    *names(
        {
            "drawCompany": "drawFeatures", "isInCompany": "hasEphemeralOrBarriers",
            "beginCompany": "beginEphemeralWriters", "beginCompanyAtHub": "resetHubObservations",
            "checkCompanyHealed": "checkEphemeralAndBarriers", "isCompanyBusy": "needsMoreTime",
        }, SIMULATION),
    *code({r"\bfunc company\(\)": "func features()", r"\bcompany\b": "featureChance"}, SIMULATION),
    # Who offers a replica that never was.
    *names(
        {
            "drawImpostors": "drawForgedOffers", "awaitImpostor": "awaitForgedOffer", "imposed": "forgedOffer",
            "impostures": "lieChance",
        }, SIMULATION),
    *code({r"\bimpose\b": "forgeOffer", r"\bimpostors = 700\b": "forgedOffers = 700",
           r"\bprofile\.impostors(?= > 0, isChaos\b| > 0, frame\[)": "profile.forgedOffers",
           r"\blieChance\.perMille\(profile\.impostors\)": "lieChance.perMille(profile.forgedOffers)"}, SIMULATION),
    *code({r"\bdrawn\.impostors\b": "drawn.forgedOffers"}, WORLD),
    Rule(r"(offers a replica that never was\.\n +public var) impostors\b", r"\1 forgedOffers",
         ("Tests/Simulation/FaultProfile.swift",)),
    # Who says that it is another.
    Rule(r"\b([Aa]) stranger\b", r"\1n impostor", SIMULATION),
    *names(
        {
            "strangers": "impostors", "stranger": "impostor", "strangerFirst": "impostorFirst",
            "ofStranger": "ofImpostor", "approach": "impersonate", "approachFirst": "impersonateFirst",
        }, SIMULATION),
]
