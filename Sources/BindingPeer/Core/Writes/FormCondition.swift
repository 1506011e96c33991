import BindingProtocol

/// That a value was made for one of the two forms of a field whose type was changed. A proposal carries it as metadata,
/// which an outbox keeps, and which is not sent: what is sent is a condition on the description.
package struct FormCondition: Sendable, Hashable {
  private static let prefix = "form:"
  /// The field's name.
  package let field: String
  /// The declared form, with the former one.
  let form: DescribedForm
  /// Whether the value is one of the former form.
  let isMapped: Bool

  /// Makes the condition.
  package init(field: String, form: DescribedForm, isMapped: Bool) {
    self.field = field
    self.form = form
    self.isMapped = isMapped
  }

  init?(_ entry: MetadataEntry) {
    guard entry.name.hasPrefix(FormCondition.prefix),
      let json = try? JSON(parsing: entry.value), let present = json["present"].flatMap(FieldForm.init),
      let former = json["former"].flatMap(FieldForm.init), let isMapped = json["isMapped"]?.boolean
    else { return nil }
    self.init(
      field: String(entry.name.dropFirst(FormCondition.prefix.count)), form: DescribedForm(present, from: former),
      isMapped: isMapped)
  }

  /// As an entry of a proposal's metadata.
  package var metadata: MetadataEntry {
    let members: [JSON.Member] = [
      .init("present", form.present.json), .init("former", form.former?.json ?? .null),
      .init("isMapped", .bool(isMapped)),
    ]
    return MetadataEntry(name: FormCondition.prefix + field, value: JSON.object(members).text)
  }

  /// Whether a description has the form for which the value was made.
  func holds(in forms: [String: DescribedForm]) -> Bool {
    forms[field].map { form.isMapped(from: $0) == isMapped } ?? !isMapped
  }

  /// Why the value is not written, in the hub's manner: the field's address first.
  func words(in model: String, _ value: FieldValue?, _ forms: [String: DescribedForm]) -> String {
    let written = (isMapped ? form.former : form.present)?.words ?? "another type"
    let shown = value?.jsonIfValid?.short ?? "it"
    let now = forms[field].map { "is now stored as \($0.present.words)" } ?? "is not described any more"
    return "\(model).\(field): \(shown) was written as \(written), and the field \(now)"
  }
}

extension Proposal {
  /// For which forms its values were made.
  var formConditions: [FormCondition] { metadata.isEmpty ? [] : metadata.compactMap(FormCondition.init) }

  /// The metadata that is sent.
  var sentMetadata: [MetadataEntry] { metadata.isEmpty ? [] : metadata.filter { FormCondition($0) == nil } }
}

/// The forms of a description, parsed once.
struct DescribedForms: Sendable {
  private var text: FieldValue?
  private var forms: [String: DescribedForm] = [:]

  mutating func of(_ description: FieldValue?) -> [String: DescribedForm] {
    if description != text {
      text = description
      forms = description.flatMap(DescribedModel.init)?.forms ?? [:]
    }
    return forms
  }
}

/// Writes whose values were made for one form of a field. They take effect only while the description has that form:
/// the hub decides them on condition that it is the one that this peer knew.
extension ModelSync {
  /// Whether such a write may be sent; one for another form ends.
  mutating func prepareForm(of write: WriteID, _ context: inout SessionContext) -> Preparation {
    guard let pending = writes[write], pending.hasArrived(in: replica), !awaitsDescription(write) else { return .waits }
    guard let refusal = misformed(pending) else { return .ready }
    end(write, as: .refused(refusal), &context)
    return .ended
  }

  /// Adds the condition to a write that is about to be sent.
  mutating func addFormCondition(to write: WriteID) {
    let known = replica.field(Names.description)?.version ?? 0
    let condition = Condition(
      field: Names.description, epoch: replica.epoch, version: known > 0 ? known : replica.version)
    writes.update(write) {
      $0.proposal.removeFormCondition()
      if $0.proposal.conditions.count < Condition.maxCount { $0.proposal.conditions.append(condition) }
    }
  }

  /// Whether an earlier write of this peer to the description has no commit yet: what it makes of the fields is not
  /// known.
  private func awaitsDescription(_ write: WriteID) -> Bool {
    writes.over[Names.description]?.contains { $0 < write } ?? false
  }

  /// Why a write's values do not have the form of the description; nil if they do.
  private mutating func misformed(_ pending: Pending) -> Refusal? {
    let forms = writes.forms.of(replica.field(Names.description)?.value)
    guard let broken = pending.proposal.formConditions.first(where: { !$0.holds(in: forms) }) else { return nil }
    return Refusal(.doesNotFit, broken.words(in: id, pending.value(of: broken.field), forms))
  }

  /// Whether a new write is not to be shown, since the description has another form already.
  mutating func isMisformed(_ pending: Pending) -> Bool {
    !pending.proposal.metadata.isEmpty && !awaitsDescription(pending.id) && misformed(pending) != nil
  }

  /// The description has changed: ends writes of another form that were never sent, and hides those that were, which
  /// the hub has decided before or will not apply.
  mutating func endMisformed(_ context: inout SessionContext) {
    for write in writes.order {
      guard let pending = writes[write], pending.isUnacknowledged, !pending.isHidden,
        !pending.proposal.metadata.isEmpty, !awaitsDescription(write), let refusal = misformed(pending)
      else { continue }
      if pending.number == nil, pending.carried == nil {
        end(write, as: .refused(refusal), &context)
      } else {
        touch(pending.overlay)
        writes.update(write) { $0.isHidden = true }
        update.record(.outcome)
      }
    }
  }

  /// Retries a write that was refused because the description had changed. Its number is used up; it gets another, if
  /// the description still has its form.
  mutating func triesAgain(afterDescription write: WriteID, _ conflict: Conflict, in epoch: Epoch) -> Bool {
    guard conflict.field == Names.description, let pending = writes[write], !pending.proposal.formConditions.isEmpty,
      !pending.sending.isVoid
    else { return false }
    writes.unnumber(write)
    let isHidden = isMisformed(pending)
    writes.update(write) {
      $0.proposal.removeFormCondition()
      $0.merging.waitsFor = (epoch, conflict.version)
      $0.isHidden = isHidden
    }
    return true
  }

  /// A write is resent on other conditions: these do not count as the program's.
  mutating func removeFormCondition(from write: WriteID) {
    guard writes[write]?.proposal.formConditions.isEmpty == false else { return }
    writes.update(write) { $0.proposal.removeFormCondition() }
  }
}

extension Proposal {
  fileprivate mutating func removeFormCondition() { conditions.removeAll { $0.field == Names.description } }
}
