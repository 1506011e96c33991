import BindingControls
import BindingModel
import Testing

/// Article 2, "Exploring two-way databinding solutions in UIKit": each of its solutions, and the one it searched
/// for. It has no names of its own, so the code uses those of the core. The ids are those of its rows.
@Suite("article 2: a cell that edits one field of a model")
@MainActor
struct Article2Tests {
  struct User: Equatable {
    var firstName: String
    var lastName: String
  }

  final class UserObject {
    var firstName = "Kevin"
  }

  /// S2.9: the reusable component, with its only requirement.
  @MainActor
  final class TextFieldCell {
    let textField = TextField()

    init(value: Binding<String>) { textField.bind(to: value) }
  }

  /// The article's controller, with SwiftUI's ease and without SwiftUI.
  @MainActor
  final class MyViewController {
    @State var user = User(firstName: "Kevin", lastName: "Renskers")
    let nameTextField: TextFieldCell

    init() {
      let user = _user
      nameTextField = TextFieldCell(value: user.projectedValue.firstName)
    }
  }

  @Test("S2.6 S2.9 S2.10 S2.W6: a cell needs only $user.firstName of a struct, and works both ways")
  func stateOfAStruct() {
    let vc = MyViewController()
    #expect(vc.user.firstName == "Kevin")
    vc.nameTextField.textField.enter("Bob")
    #expect(vc.user.firstName == "Bob")
    vc.user.firstName = "Eve"
    #expect(vc.nameTextField.textField.text == "Eve")
    #expect(vc.user.lastName == "Renskers")
  }

  @Test("S2.1: a copy of the value stays a copy")
  func copies() {
    @State var user = User(firstName: "Kevin", lastName: "Renskers")
    let field = TextField()
    field.text = user.firstName
    field.type("!")
    #expect(user.firstName == "Kevin")
  }

  @Test("S2.2 S2.W1: an initial value and a closure make one binding")
  func closures() {
    var name = "Kevin"
    let field = TextField()
    let value = Observable(name)
    field.bind(to: value)
    let token = value.observeOnMain { name = $0 }
    field.enter("Bob")
    #expect(name == "Bob")
    token.cancel()
  }

  @Test("S2.3 S2.11: a property of a class model is bound by its key path")
  func classModels() {
    let model = UserObject()
    let name = Observable("Kevin")
    let field = TextField()
    field.bind(to: name)
    name.bind(\.self, to: model, \.firstName)
    field.enter("Bob")
    #expect(model.firstName == "Bob")
  }

  @Test("S2.4 S2.W2: a field of a nested struct is bound without passing its owner")
  func structsInStructs() {
    struct Screen: Equatable { var user = User(firstName: "Kevin", lastName: "Renskers") }
    @State var screen = Screen()
    let cell = TextFieldCell(value: $screen.user.firstName)
    cell.textField.enter("Bob")
    #expect(screen.user == User(firstName: "Bob", lastName: "Renskers"))
  }

  @Test("S2.5 S2.W3: a custom location is bound by a function to read it and one to write it")
  func getAndSet() {
    let user = Observable(User(firstName: "Kevin", lastName: "Renskers"))
    let full = user.binding.map(
      Conversion<User, String>(
        forward: { "\($0.firstName) \($0.lastName)" },
        back: { (text: String) throws(BindingError) in
          let parts = text.split(separator: " ", maxSplits: 1).map(String.init)
          guard parts.count == 2 else { throw BindingError(.unmappable, "a name has two words") }
          return User(firstName: parts[0], lastName: parts[1])
        }))
    let cell = TextFieldCell(value: full)
    cell.textField.enter("Bob Ross")
    #expect(user.value == User(firstName: "Bob", lastName: "Ross"))
    cell.textField.enter("Bob")
    #expect(user.value.lastName == "Ross")
  }

  @Test("S2.7 S2.8 S2.W4: a sequence gives the first value, whenever it is read")
  func streams() async {
    let name = Observable("Kevin")
    var iterator = name.values.makeAsyncIterator()
    #expect(await iterator.next() == "Kevin")
    name.value = "Bob"
    #expect(await iterator.next() == "Bob")
  }

  @Test("S2.W5: text set by the program is shown without a call and is no edit")
  func programmaticText() {
    let vc = MyViewController()
    vc.nameTextField.textField.text = "draft"
    #expect(vc.user.firstName == "Kevin")
    vc.nameTextField.textField.valueChanged()
    #expect(vc.user.firstName == "draft")
  }

  @Test("S2.W7: the model's changes reach the cell, and no closure keeps the controller alive")
  func noLeak() {
    weak var controller: MyViewController?
    do {
      let vc = MyViewController()
      controller = vc
      vc.user.firstName = "Eve"
      #expect(vc.nameTextField.textField.text == "Eve")
    }
    #expect(controller == nil)
  }
}
