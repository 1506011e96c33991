// refused: mutation of captured var
import BindingModel

func count(_ name: Observable<String>) -> ObserverToken {
  var calls = 0
  return name.observe { _ in calls += 1 }
}
