import BindingProtocol

/// What the hub asked the owner of a model, and the owner's answers.
final class ApprovalQuestions {
  struct Question {
    let token: UInt32
    let session: SessionID
    /// The owner that was asked, and the writer of the proposal.
    let owner: Tag
    let writer: Tag
    let fields: [String: FieldValue?]
    let askedAt: UInt64
    /// Whether the owner approved; nil: no answer yet, or none in time.
    var verdict: Bool?
    var answeredAt: UInt64 = 0
    /// The owner gave the model up, or is gone.
    var isVoid = false
    /// The proposal was decided.
    var isUsed = false
    /// The owner lost the model for not answering it.
    var isSpent = false

    init(_ request: ApprovalRequest, to owner: Tag, at time: UInt64) {
      (token, session, self.owner, writer) = (request.token, request.session, owner, request.origin.tag)
      var fields: [String: FieldValue?] = [:]
      for field in request.fields { fields[field.name] = .some(field.value) }
      self.fields = fields
      askedAt = time
    }
  }
  /// How long the hub waits for the owner, milliseconds.
  static let timeout: UInt64 = 2_000
  @exclusivity(unchecked) private var questions: [Question] = []

  var open: Question? { questions.last.flatMap { $0.verdict == nil && !$0.isVoid && !$0.isUsed ? $0 : nil } }

  func removeAll() { questions.removeAll() }

  func ask(_ question: Question) {
    // This question may come before the decision about the last one is seen, which was answered, or void but its
    // owner's time had run out first.
    let last = questions.popLast()
    questions.removeAll { $0.isUsed || $0.isVoid }
    if let last, !last.isUsed { questions.append(last) }
    questions.append(question)
  }

  func answer(_ token: UInt32, _ verdict: Bool, at time: UInt64) {
    for index in questions.indices where questions[index].token == token {
      questions[index].verdict = verdict
      questions[index].answeredAt = time
    }
  }

  /// Whether an owner did not answer about these fields and lost the model for it.
  func wasSilence(about fields: [String: FieldValue?], of writer: Tag) -> Bool {
    // An identical deletion may be written again; each string is written once.
    guard fields.values.contains(where: { $0?.bytes.first == UInt8(ascii: "\"") }) else { return false }
    return questions.contains { $0.isSpent && !$0.isUsed && $0.writer == writer && $0.fields == fields }
  }

  func voidOpen() {
    guard open != nil else { return }
    questions[questions.count - 1].isVoid = true
  }

  /// Whether the model was taken from this owner for its silence: once for each question.
  func spendSilence(of owner: Tag, at time: UInt64, timeout: UInt64) -> Bool {
    let index = questions.lastIndex {
      $0.owner == owner && !$0.isSpent && !$0.isVoid && time >= $0.askedAt + timeout
        && ($0.verdict == nil || $0.answeredAt >= $0.askedAt + timeout)
    }
    guard let index else { return false }
    questions[index].isSpent = true
    return true
  }

  /// Consumes a matching question.
  func use(where isMeant: (Question) -> Bool) -> Question? {
    guard let index = questions.lastIndex(where: { !$0.isUsed && isMeant($0) }) else { return nil }
    questions[index].isUsed = true
    return questions[index]
  }
}
