import BindingPeer
import BindingTerminal
import Foundation

/// Prints what a keep file holds, without a hub and without a lock.
struct KeptReader {
  let common: CommonOptions
  let path: String
  let isRaw: Bool
  let showsMeta: Bool
  let reveals: Bool

  func run(_ addresses: [Address]) throws {
    let kept: KeptModels
    do throws(OutboxError) { kept = try KeptModels(readingFrom: path) } catch { throw Failure(.outbox(error)) }
    var missing = false
    var oldest: UInt64?
    for address in addresses {
      let models = kept.models.filter { address.isPrefix ? $0.hasPrefix(address.model) : $0 == address.model }
      for id in models {
        let model = kept[id]
        let fields = model.fields.filter { field in
          address.field.map { $0 == field.name } ?? !field.name.hasPrefix("@")
        }
        if fields.isEmpty, let field = address.field {
          Terminal.complain("\(path) has no field \(field) of \(id).")
          missing = true
          continue
        }
        show(id, model, fields, kept.logID)
        if let time = model.completeAt { oldest = min(oldest ?? time, time) }
      }
      guard models.isEmpty else { continue }
      Terminal.complain("\(path) has nothing of \(address.model.isEmpty ? "any model" : address.model).")
      missing = missing || !address.model.isEmpty
    }
    if !common.json, let oldest { Terminal.complain("From \(path), complete \(KeptReader.age(since: oldest)) ago.") }
    if missing { Terminal.leave(.no) }
  }

  private func show(_ id: String, _ model: KeptModels.Kept, _ fields: [KeptModels.Field], _ log: LogID?) {
    if isRaw, fields.count == 1 {
      if case .string(let text)? = try? fields[0].value.json { return Terminal.print(text) }
      return StandardStreams.print(bytes: fields[0].value.bytes)
    }
    guard common.json else {
      let stored = try? model.fields.first { $0.name == Names.description }?.value.json
      let described = stored.map(ModelDescription.init) ?? ModelDescription()
      for field in fields {
        let meta =
          field.isPending ? "pending" : "version \(field.version) by \(field.origin.attribution)"
        let tail = showsMeta ? "  " + Terminal.dim(meta) : ""
        let words = described.readable(field.value, of: field.name, revealing: reveals)
        Terminal.print("\(id).\(field.name) = \(words)\(tail)")
      }
      return
    }
    var line = JSONLine()
    line.add("model", .string(id))
    line.add("version", .integer(Int64(clamping: model.version)))
    line.add("values", values: fields.map { ($0.name, $0.value) })
    line.add("log", log.map { .string(String($0, radix: 16)) } ?? .null)
    line.add("completeAt", model.completeAt.map { .integer(Int64(clamping: $0)) } ?? .null)
    line.add("age", model.completeAt.map { .integer(Int64(clamping: KeptReader.seconds(since: $0))) } ?? .null)
    let pending = fields.filter(\.isPending).map { JSON.string($0.name) }
    if showsMeta || !pending.isEmpty { line.add("pending", .array(pending)) }
    line.print()
  }

  private static func seconds(since time: UInt64) -> UInt64 {
    let now = UInt64(max(Date().timeIntervalSince1970, 0) * 1_000)
    return (now - min(time, now)) / 1_000
  }

  /// `4 s`, `3 min`, `5 h` or `12 d`.
  static func age(since time: UInt64) -> String {
    let seconds = seconds(since: time)
    switch seconds {
    case ..<120: return "\(seconds) s"
    case ..<7_200: return "\(seconds / 60) min"
    case ..<172_800: return "\(seconds / 3_600) h"
    default: return "\(seconds / 86_400) d"
    }
  }
}
