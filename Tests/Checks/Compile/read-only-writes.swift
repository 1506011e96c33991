// refused: get-only
import BindingModel

struct Person: Sendable { var name = "Ada" }

func rename(_ person: ReadOnly<Person>) { person.name.value = "Eve" }
