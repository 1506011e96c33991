#if MUTANTS
  import BindingProtocol

  extension World {
    /// The faults that can be planted, and the rule that each breaks.
    package static var mutants: [(name: String, rule: String)] { Mutant.allCases.map { ($0.rawValue, $0.rule) } }

    /// Plants a fault in all worlds to come; false if there is none of that name.
    package static func plant(_ name: String) -> Bool {
      guard let mutant = Mutant(rawValue: name) else { return false }
      Mutant.planted = mutant
      return true
    }
  }
#endif
