from . import seeds as seeds
