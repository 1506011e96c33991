import Testing

@testable import BindingPeer
@testable import bindpeer

@Suite("Secret values")
struct SecretValueTests {
  private var description: ModelDescription {
    var described = ModelDescription()
    described.fields["pin"] = FieldDescription(type: .string)
    described.fields["pin"]?.isSecret = true
    described.fields["name"] = FieldDescription(type: .string)
    return described
  }

  private func shown(_ field: String, revealing: Bool = false, onScreen: Bool = true) -> String {
    description.readable(FieldValue(json: .string("1234")), of: field, revealing: revealing, onScreen: onScreen)
  }

  @Test("a secret value is hidden on a screen")
  func hidden() { #expect(!shown("pin").contains("1234")) }

  @Test("a secret value shows where it is asked for, and in a pipe")
  func revealed() {
    #expect(shown("pin", revealing: true).contains("1234"))
    #expect(shown("pin", onScreen: false).contains("1234"))
  }

  @Test("other values show")
  func others() { #expect(shown("name").contains("1234")) }

  @Test("an earlier value of a secret field is hidden as the present one is")
  func earlier() {
    let change = SharedModel.PastCommit.Change(field: "pin", value: FieldValue(json: .string("1234")), isRemoved: false)
    #expect(!change.words(in: description, onScreen: true).contains("1234"))
  }
}
