import BindingProtocol

extension GoodVectors {
  /// Messages about which peers have which version of a model.
  static var appliedVersions: [(file: String, vector: Vector)] {
    [
      (
        "await",
        up(
          .awaitApplied(
            AwaitApplied(request: 7, topic: lamp, epoch: epoch, version: 42, timeoutMilliseconds: 2_000)))
      ),
      (
        "await-count",
        up(
          .awaitApplied(
            AwaitApplied(
              request: 8, topic: kiosk, epoch: 1, version: UInt64.max, count: 3, timeoutMilliseconds: UInt32.max)))
      ),
      ("awaited", down(.awaited(Awaited(session: session, request: 7, applied: 5, of: 5, end: .complete)))),
      (
        "awaited-missing",
        down(
          .awaited(
            Awaited(
              session: session, request: 8, applied: 3, of: 5, end: .incomplete, missing: ["kitchen", "Gerät ☀️"])))
      ),
      ("awaited-too-many", down(.awaited(Awaited(session: session, request: 9, end: .tooMany)))),
      ("ask", down(.ask(AskApplied(epoch: epoch, version: 42)))),
      ("ask-any", down(.ask(AskApplied(epoch: epoch, version: 0)), topic: kiosk)),
      (
        "report",
        up(
          .report([
            AppliedEntry(topic: lamp, epoch: epoch, version: 42, digest: 0x09D7_D3AE_59E2_AC80, healed: 1),
            AppliedEntry(topic: kiosk, epoch: epoch, version: 0, digest: 0, healed: 0),
          ]))
      ),
      (
        "count",
        down(
          .count(
            CountApplied(
              session: session, request: 4_000_000_000, model: "lamp", epoch: epoch, version: 42, isOfAll: true,
              timeoutMilliseconds: 4_000)))
      ),
      (
        "count-any",
        down(
          .count(
            CountApplied(
              session: session, request: 1, model: "lamp", epoch: epoch, version: UInt64.max, isOfAll: false,
              timeoutMilliseconds: 0)))
      ),
      ("counted", up(.counted(AppliedCount(request: 4_000_000_000, applied: 2, of: 3, missing: ["Gerät ☀️"])))),
      ("counted-nobody", up(.counted(AppliedCount(request: 1, applied: 0, of: 0)))),
      ("verify", .toHub(.verify(Verify(timeoutMilliseconds: 2_000)), session: 0, start: 0)),
      (
        "verify-some",
        up(.verify(Verify(timeoutMilliseconds: 500, after: kiosk, names: ["lamp", "shop/"])))
      ),
    ]
  }
}
