import "/bind.js";
